// What a lease costs, from one place: costAtMost of the lease.
import { micro, amount } from './show.js';

// leaseMoney are the parts of what was reserved for a lease, in millionths; null where one of them is not an amount. The lease
// holds the fee of what was paid until it is closed, so that the provider's part alone has left what it reserves.
export function leaseMoney(l) {
  const [cost, paid, fee, held] = [l.costAtMost, l.paid, l.feeIncluded, l.reserved].map(micro);
  if ([cost, paid, fee, held].includes(null)) return null;
  const used = cost > paid ? cost : paid;
  const whole = held + paid - fee;
  return { used, paid, served: used - paid, back: whole > used ? whole - used : 0n, whole };
}

// texts writes them as amounts.
export const texts = (m) => Object.fromEntries(Object.entries(m).map(([k, v]) => [k, amount(v)]));
