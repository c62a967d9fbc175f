"""From the bytes of a record to the fields of an event: schemas, frames, mapping. It knows no policy."""
