// Sends visits and clicks of a page. Served without comments and indentation, see `snippet.py`.
(() => {
  const page = document, me = navigator, on = addEventListener
  const to = new URL("events", page.currentScript.src)
  // For events of the site's own kinds: tidemark("purchase", {price: 12.5}, "checkout").
  window.tidemark = () => {}
  if (me.doNotTrack == 1 || me.globalPrivacyControl) return
  let held = [], seen
  const id = () => crypto.getRandomValues(new Uint32Array(4)).join("-")
  const plain = url => url.split(/[?#]/)[0]
  // Events that cannot be sent now are sent with the next event, or when the browser is online again.
  const flush = () => {
    if (held[0] && me.onLine && me.sendBeacon(to, JSON.stringify({sent_at: Date.now(), events: held}))) held = []
  }
  // Without storage there is no user id, and no event is sent.
  const send = (event_type, more) => {
    const now = Date.now(), page_url = plain(location.href)
    try {
      let [user_id, session_id, last] = (localStorage.tidemark || "").split(" ")
      if (!(now - last < 18e5)) session_id = id()
      localStorage.tidemark = [user_id ||= id(), session_id, now].join(" ")
      if (!held[49]) held.push({event_id: id(), event_type, event_time: now, user_id, session_id, page_url, ...more})
      flush()
    } catch {}
  }
  window.tidemark = (kind, properties, element_id) => send(kind, {properties, element_id})
  const visit = () => {
    const referrer = seen || plain(page.referrer)
    if (seen != (seen = plain(location.href))) send("visit", {referrer})
  }
  // Pages of a single-page application.
  const push = history.pushState
  history.pushState = (...args) => {
    push.apply(history, args)
    visit()
  }
  on("popstate", visit)
  // The browser shows a page from its back/forward cache.
  on("pageshow", e => e.persisted && visit(seen = ""))
  on("online", flush)
  // Capture before the page's own listeners, which may stop the event or navigate.
  on("click", e => {
    const it = e.target.closest?.("a,button,input,[data-tidemark]")
    if (it) send("click", {element_id: it.dataset.tidemark || it.id || it.name || it.localName})
  }, true)
  // A page in the background becomes a visit when it is displayed.
  if (page.hidden) page.addEventListener("visibilitychange", visit)
  else visit()
})()
