// Package onramp listens to hosted on-ramps, which sell USDC for a card or a bank transfer and send it to the
// customer's own wallet. Their webhooks say that a purchase is done.
//
// A webhook moves nothing and decides no amount: its signature is checked, it is written down once, and the
// transaction that it names is looked up on the chain, which says what has arrived. The deposit is then prepared for
// the customer's own wallet, which signs it: this process has no key for it. A session key may not deposit, and gets
// no allowance over the wallet's tokens: its cap bounds what a stolen server can spend, and an allowance would be
// money outside of that cap.
package onramp
