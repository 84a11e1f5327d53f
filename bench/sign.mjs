/**
 * Signing a permit: our mint on this thread and on the thread pool, against jose's SignJWT.
 * The cases take turns, and ratios are taken inside a round, so that a busy machine slows all of them alike.
 * Run: node bench/sign.mjs
 */
import { exportSigningKey, generateSigningKey, mintPermit, mintPermitSync } from '@countersign/permit'
import { importJWK, SignJWT } from 'jose'

const ROUNDS = 7
const ROUND_MS = 250

const key = generateSigningKey()
const cryptoKey = await importJWK(exportSigningKey(key), 'EdDSA')
const header = { alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid }
const claims = {
  iss: 'http://127.0.0.1:8787',
  sub: 'agent:support-7',
  aud: 'http://127.0.0.1:8787',
  iat: 1795255205,
  exp: 1795255505,
  jti: 'dec_01kagx5v5ne8sr6w1y6gqk4t2h',
  action: 'payment.refund',
  resource: 'order:8812',
  effect: 'allow',
  policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
  policy_revision: 1,
  request_hash: 'x'.repeat(43),
  audit: { log: 'a1', index: 12, leaf: 'x'.repeat(43) },
}
const signByJose = () => new SignJWT(claims).setProtectedHeader(header).sign(cryptoKey)

const CASES = [
  { name: 'mintPermitSync', inFlight: 1, sign: async () => mintPermitSync(key, claims), against: 'jose SignJWT' },
  { name: 'mintPermit', inFlight: 1, sign: () => mintPermit(key, claims), against: 'jose SignJWT' },
  { name: 'jose SignJWT', inFlight: 1, sign: signByJose, against: 'jose SignJWT' },
  {
    name: 'mintPermit, 32 in flight',
    inFlight: 32,
    sign: () => mintPermit(key, claims),
    against: 'jose SignJWT, 32 in flight',
  },
  { name: 'jose SignJWT, 32 in flight', inFlight: 32, sign: signByJose, against: 'jose SignJWT, 32 in flight' },
]

const [ours, byJose] = [mintPermitSync(key, claims), await signByJose()]
if (ours !== byJose) throw new Error('The two do not sign into the same bytes.')

for (const one of CASES) await measure(one)
const rounds = []
for (let round = 0; round < ROUNDS; round += 1) {
  const results = new Map()
  // Each round begins with another case: the case that goes first may profit from an idle moment.
  for (let i = 0; i < CASES.length; i += 1) {
    const one = CASES[(i + round) % CASES.length]
    results.set(one.name, await measure(one))
  }
  rounds.push(results)
}

console.log(`Signing a permit of ${ours.length} bytes, medians of ${ROUNDS} rounds\n`)
console.log('case                          ops/s   CPU us/op   ops/s against jose   CPU against jose')
for (const { name, against } of CASES) {
  const opsPerSecond = median(rounds.map((round) => round.get(name).opsPerSecond))
  const cpuUs = median(rounds.map((round) => round.get(name).cpuUs))
  const speed = median(rounds.map((round) => round.get(name).opsPerSecond / round.get(against).opsPerSecond))
  const cost = median(rounds.map((round) => round.get(name).cpuUs / round.get(against).cpuUs))
  const columns = [Math.round(opsPerSecond), cpuUs.toFixed(1), `${speed.toFixed(2)}x`, `${cost.toFixed(2)}x`]
  const widths = [8, 12, 21, 19]
  console.log(name.padEnd(27) + columns.map((column, i) => String(column).padStart(widths[i])).join(''))
}

/** @returns {Promise<{opsPerSecond: number, cpuUs: number}>} CPU of all threads of the process, per signature */
async function measure({ inFlight, sign }) {
  let done = 0
  const cpuBefore = process.cpuUsage()
  const started = performance.now()
  const signOn = async () => {
    while (performance.now() - started < ROUND_MS) {
      await sign()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, signOn))
  const elapsedMs = performance.now() - started
  const { user, system } = process.cpuUsage(cpuBefore)
  return { opsPerSecond: (done * 1000) / elapsedMs, cpuUs: (user + system) / done }
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]
}
