"""What can go wrong with a job of predictions, and with one picture of it."""


class InferenceError(Exception):
    """The job cannot be done; the message says why and what would work."""


class PictureError(InferenceError):
    """One picture cannot be read or looked at; the others can."""
