"""Proofs that take long, or take things apart: ``make chaos``."""
