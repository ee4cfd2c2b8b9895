package service

// Figures are what an order asks of what keepers have measured of a machine.
type Figures struct {
	MinTOPS      string `json:"minTops,omitempty" maxLength:"12" example:"1200" doc:"10¹² int8 operations a second that keepers have measured of each GPU, at least" jsonschema:"10¹² int8 operations a second that keepers have measured of each GPU, at least"`
	MinBandwidth string `json:"minGigabytesPerSecond,omitempty" maxLength:"12" example:"900" doc:"GB/s of memory that keepers have measured of each GPU, at least" jsonschema:"GB/s of memory that keepers have measured of each GPU, at least"`
	MinDown      uint32 `json:"minDownMbps,omitempty" maximum:"1073741824" doc:"Mbit/s to the machine that keepers have measured, at least" jsonschema:"Mbit/s to the machine that keepers have measured, at least"`
	MinUp        uint32 `json:"minUpMbps,omitempty" maximum:"1073741824" doc:"Mbit/s from the machine that keepers have measured, at least" jsonschema:"Mbit/s from the machine that keepers have measured, at least"`
}

// into adds them to the terms of a search. Error: Failure.
func (f Figures) into(q *Terms) error {
	for _, figure := range []struct {
		name, text string
		into       *uint32
	}{{"minTops", f.MinTOPS, &q.Operations}, {"minGigabytesPerSecond", f.MinBandwidth, &q.Bandwidth}} {
		if figure.text == "" {
			continue
		}
		n, err := ParseThousandths(figure.text)
		if err != nil {
			return Usage(figure.name+": "+err.Error(), "")
		}
		*figure.into = n
	}
	q.DownMbps, q.UpMbps = f.MinDown, f.MinUp
	return nil
}
