"""What is promised: guarantees, conversions, calibration, and who is protected."""
