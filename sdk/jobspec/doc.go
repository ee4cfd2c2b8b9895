// Package jobspec says which jobs no machine runs. Machines refuse by these rules, and customers' programs ask them before
// money moves: what a machine would refuse after the award is known before the order.
//
//	err := jobspec.Check(job)                                      // the job alone
//	err = jobspec.CheckManifest(manifest)                          // before the image's configuration is fetched
//	err = jobspec.CheckImage(job, manifest, config, jobspec.Base)  // the job and the image's configuration
//	err = jobspec.CheckShare(job, share)                           // the job and its share of a machine
//
// Every error is an [*Error], and errors.Is(err, ErrJob). What one machine lacks (a sandbox, a network, room on its disk) is
// no rule of this package: another machine may have it.
package jobspec
