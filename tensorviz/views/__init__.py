"""Trace to text: SVG, DOT, summary and formulas. Must not import engine or ops."""
