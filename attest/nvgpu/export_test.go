package nvgpu

// ParseUnsigned reads a manifest's content without looking at its signature.
func ParseUnsigned(data []byte) (*RIM, error) {
	top, err := readXML(data)
	if err != nil {
		return nil, err
	}
	return parseSWID(top)
}
