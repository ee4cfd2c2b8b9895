// Package cli is the gantry command. It assembles the commands of its readers: rent for customers, host for servers of
// programs, provide for owners of machines, keep for keepers, govern for the market, verify for auditors, and keys for
// keypair files. What they share is in command. It prints for people on standard output and progress on standard error;
// with -o json or -o yaml standard output holds exactly one document.
package cli
