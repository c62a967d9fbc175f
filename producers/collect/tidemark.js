// Visits and clicks of a page. It is served without these lines and without indentation, see `snippet.py`.
(() => {
  const page = document, me = navigator, on = addEventListener
  const to = new URL("events", page.currentScript.src)
  if (me.doNotTrack == 1 || me.globalPrivacyControl) return
  let held = [], shown
  const id = () => crypto.getRandomValues(new Uint32Array(4)).join("-")
  const plain = url => url.split(/[?#]/)[0]
  // What cannot be sent now goes with the next event, or when the browser is online again.
  const flush = () => {
    if (held[0] && me.onLine && me.sendBeacon(to, JSON.stringify({sent_at: Date.now(), events: held}))) held = []
  }
  // Without storage there is no user, and nothing is told.
  const tell = (event_type, more) => {
    const now = Date.now(), page_url = plain(location.href)
    try {
      let [user_id, session_id, last] = (localStorage.tidemark || "").split(" ")
      if (!(now - last < 18e5)) session_id = id()
      localStorage.tidemark = [user_id ||= id(), session_id, now].join(" ")
      if (!held[49]) held.push({event_id: id(), event_type, event_time: now, user_id, session_id, page_url, ...more})
      flush()
    } catch {}
  }
  const visit = () => {
    const referrer = shown || plain(page.referrer)
    if (shown != (shown = plain(location.href))) tell("visit", {referrer})
  }
  // Pages of an application that never leaves the first one.
  const push = history.pushState
  history.pushState = (...told) => {
    push.apply(history, told)
    visit()
  }
  on("popstate", visit)
  // Back to a page that the browser has kept as it was.
  on("pageshow", e => e.persisted && visit(shown = ""))
  on("online", flush)
  // Before the page's own listeners, which may stop the event or go elsewhere.
  on("click", e => {
    const it = e.target.closest?.("a,button,input,[data-tidemark]")
    if (it) tell("click", {element_id: it.dataset.tidemark || it.id || it.name || it.localName})
  }, true)
  // A page that nobody looks at yet is no visit.
  if (page.hidden) page.addEventListener("visibilitychange", visit)
  else visit()
})()
