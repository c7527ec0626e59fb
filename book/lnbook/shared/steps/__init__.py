"""What an update of any experiment costs: time, where it goes, memory."""
