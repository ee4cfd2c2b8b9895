package messages

// UseAnswer is what a lease uses, or why the request was refused.
type UseAnswer struct {
	Version uint8  `cbor:"1,keyasint"`
	Use     Use    `cbor:"2,keyasint"`
	Refused string `cbor:"3,keyasint,omitempty" max:"1024"`
}

// Use is what the job of a lease uses, as its machine says. Two of them with the time between them give rates.
type Use struct {
	// AtMs is when it was measured, milliseconds by the machine's clock.
	AtMs uint64 `cbor:"1,keyasint"`
	// CPUMs is the processors' time since the job began, in milliseconds; MilliCPUs how many it may use, in thousandths; 0 is no
	// limit.
	CPUMs     uint64 `cbor:"2,keyasint"`
	MilliCPUs uint64 `cbor:"3,keyasint"`
	// Memory and Disk are bytes in use, beside the most that the job may use; 0 is no limit.
	Memory      uint64 `cbor:"4,keyasint"`
	MemoryLimit uint64 `cbor:"5,keyasint"`
	Disk        uint64 `cbor:"6,keyasint"`
	DiskLimit   uint64 `cbor:"7,keyasint"`
	// Sent and Received are bytes of the container's network since it began; Connected says whether it has one.
	Sent      uint64 `cbor:"8,keyasint"`
	Received  uint64 `cbor:"9,keyasint"`
	Connected bool   `cbor:"10,keyasint"`
	// GPUs are those of the lease.
	GPUs []GPUUse `cbor:"11,keyasint" max:"64"`
	// Volume are bytes in use of the lease's volume, VolumeSize what its file system has for files; 0 is no volume.
	Volume     uint64 `cbor:"12,keyasint,omitempty"`
	VolumeSize uint64 `cbor:"13,keyasint,omitempty"`
}

// GPUUse is what the driver says of one GPU. A nil reading is one that the device does not have.
type GPUUse struct {
	Name          string  `cbor:"1,keyasint" max:"128"`
	UUID          string  `cbor:"2,keyasint" max:"128"`
	Percent       *uint32 `cbor:"3,keyasint,omitempty"`
	MemoryUsedMiB *uint64 `cbor:"4,keyasint,omitempty"`
	MemoryMiB     uint64  `cbor:"5,keyasint"`
	TempC         *uint32 `cbor:"6,keyasint,omitempty"`
	PowerMW       *uint32 `cbor:"7,keyasint,omitempty"`
	// Missing: it has fallen off the bus.
	Missing bool `cbor:"8,keyasint,omitempty"`
	// Simulated: there is no such device, and the readings mean nothing.
	Simulated bool `cbor:"9,keyasint,omitempty"`
	// PowerLimitMW is the limit in force, milliwatts.
	PowerLimitMW *uint32 `cbor:"10,keyasint,omitempty"`
}
