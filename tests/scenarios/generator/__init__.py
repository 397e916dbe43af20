"""The scenario generator: one module per concern, one module per incident (see ../README.md)."""
