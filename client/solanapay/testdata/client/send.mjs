// Signs a transaction with the only key that a wallet has, sends it, and waits until it is confirmed.
export async function send(connection, transaction, key) {
  transaction.partialSign(key);
  const signature = await connection.sendRawTransaction(transaction.serialize());
  for (let n = 0; n <= 100; n++) {
    const { value: [s] } = await connection.getSignatureStatuses([signature]);
    if (s?.err) throw new Error(`refused: ${JSON.stringify(s.err)}`);
    if (['confirmed', 'finalized'].includes(s?.confirmationStatus)) return signature;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error('the transaction was not confirmed');
}
