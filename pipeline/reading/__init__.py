"""Reading a warehouse: nothing here writes."""
