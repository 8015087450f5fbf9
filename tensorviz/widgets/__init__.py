"""The only part that knows a browser: the stepper as a notebook output, as a widget and as a page. Must not import engine or ops."""
