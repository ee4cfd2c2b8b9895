package daemon

import (
	"cmp"

	"github.com/gantry-market/gantry/attest"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/keeper/evidence"
)

// openEvidence opens the service that judges evidence, with the bundles in the data folder.
func (k *Keeper) openEvidence() (*evidence.Service, error) {
	p := policy.Default()
	if k.c.Evidence != nil {
		p = *k.c.Evidence
	}
	var sources []attest.Collateral
	if k.c.Collateral != "" {
		sources = append(sources, policy.Dir(k.c.Collateral))
	}
	d, err := evidence.New(evidence.Options{Policy: p, Folder: k.c.path(folderEvidence), Keep: cmp.Or(k.c.KeepEvidence, DefaultKeepEvidence), Sources: sources})
	if err != nil {
		return nil, err
	}
	_, digest, err := d.Policy()
	if err != nil {
		return nil, err
	}
	k.log.Info().Str("policy", p.Name).Hex("policy_hash", digest[:]).Msg("keeper judges evidence by this policy")
	return d, nil
}
