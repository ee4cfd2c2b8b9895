package policy

// Reach is the highest tier that the policy can give: 3 where it names images of confidential machines and the roots of
// GPUs' reports, 2 where it names makers of TPMs, and 1 where it asks for no proof.
func (p Policy) Reach() uint8 {
	images := (len(p.Roots.SNP) > 0 && len(p.SNP.Measurements) > 0) || (len(p.Roots.TDX) > 0 && len(p.TDX.Measurements) > 0)
	switch {
	case images && len(p.Roots.GPU) > 0 && len(p.Roots.RIM) > 0:
		return 3
	case len(p.Roots.TPM) > 0:
		return 2
	}
	return 1
}
