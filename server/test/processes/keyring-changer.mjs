/**
 * Changes the signing keys of a data directory. Arguments: the directory, `rotate` or `revoke`, how many times. Each line
 * of standard output is one change that was acknowledged: `rotated <kid>`, `revoked <kid>`.
 */
import { writeSync } from 'node:fs'
import { findKeyring } from '#server/adapters/keyring/keyring'
import { systemClock } from '#server/adapters/system-clock'

const [dataDir, what, rounds] = process.argv.slice(2)

for (let done = 0; done < Number(rounds); done += 1) {
  const keyring = await findKeyring({ dataDir, clock: systemClock() })
  writeSync(1, `${await (what === 'rotate' ? rotate(keyring) : revoke(keyring))}\n`)
}

/** Of what is told, others may have made the first part. */
async function rotate(keyring) {
  const changes = await keyring.rotate({ isForced: true })
  return `rotated ${changes.findLast(({ type }) => type === 'signing_key.rotated').kid}`
}

async function revoke(keyring) {
  const { kid } = keyring.list().find(({ state }) => state === 'active')
  await keyring.revoke(kid)
  return `revoked ${kid}`
}
