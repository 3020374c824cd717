"""One time for several hosts: their clocks against the driver's, with a bound that holds."""
