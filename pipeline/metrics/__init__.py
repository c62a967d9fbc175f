"""What the service tells of itself: metrics, health, and the view of a warehouse."""
