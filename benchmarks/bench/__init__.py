"""The backbone beside others': what is measured, how, and how it is told."""
