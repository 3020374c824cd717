"""What rules look at: samples by stage, series of the host, nodes of plans, the driver."""
