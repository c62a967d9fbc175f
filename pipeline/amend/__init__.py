"""Writers of a warehouse other than the service: verbs that correct, erase and reset."""
