"""SkyPilot on machines of the Gantry market: the cloud that sky calls gantry."""
