"""Random streams are judged by what they show, not by how long a busy machine takes."""

from hypothesis import settings

settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
