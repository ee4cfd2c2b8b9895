"""dstack on machines of the Gantry market: the backend that dstack calls gantry."""
