/** docs/runbooks.md, "The signing keys are lost", command for command. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { any, createPermitVerifier } from '@countersign/permit'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { commandsOf, ISSUER, type Operator } from './runbook.js'
import { backedUp, complaintsOfKeys, expectAlive, type Life, pay, signed } from './runbook-life.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const [saveKeySet, , start, verifyBoth, forget] = commandsOf('The signing keys are lost', 5) as [
  string,
  string,
  string,
  string,
  string,
]
const OLD = '--jwks "$SAFE/jwks.json"'
const NEW = '--jwks "$SAFE/jwks-new.json"'

/** What was exported and kept while the keys were there. */
function exportAll(operator: Operator, { open }: Life): void {
  operator.succeed(`
    printf %s '${open.permit_token}' > "$SAFE/permit.txt"
    npx countersign audit export --out "$SAFE/audit.ndjson"
    npx countersign audit export --checkpoint-only --witness "$SAFE/kept.txt"
    npx countersign audit prove "$SAFE/permit.txt" --out "$SAFE/proof.json"`)
}

async function verifies(permit: string, keySet: string): Promise<boolean> {
  const verifier = createPermitVerifier({ jwks: JSON.parse(keySet), issuer: ISSUER, audience: ISSUER })
  return verifier.verify(permit, { action: 'pay.create', resource: any }).then(
    () => true,
    (error) => {
      expect(error).toMatchObject({ code: 'key_unknown' })
      return false
    },
  )
}

it('without a copy: a new server with new keys, and what each saved key set verifies', async () => {
  const { operator, life, server } = await backedUp()
  exportAll(operator, life)
  rmSync(join(operator.dataDir, 'signing-keys.json'))
  operator.succeed('rm "$SAFE/jwks.json"')
  const open = await pay(server, 0, 'while-it-is-away')
  operator.succeed(saveKeySet)
  const keySet = operator.succeed('cat "$SAFE/jwks.json"')
  expect(await verifies(open.permit_token, keySet)).toBe(true)
  await operator.stop()

  const next = await operator.serve(start)
  expect(complaintsOfKeys(operator.server)).toHaveLength(1)
  await expectAlive(next, operator.dataDir, life)
  const redeemed = await next.call('POST', '/v1/permits/redeem', { body: { permit_token: life.open.permit_token } })
  expect(redeemed).toMatchObject({ status: 400, body: { code: 'permit_invalid' } })
  const { permit_token } = (await next.call('GET', `/v1/decisions/${life.open.id}`)).body
  await pay(next, 1, 'since')
  await signed(next)
  expect(operator.succeed(verifyBoth)).toContain('Intact: ')
  const newSet = operator.succeed('cat "$SAFE/jwks-new.json"')
  for (const [permit, withOld, withNew] of [
    [life.open.permit_token, true, false],
    [permit_token, false, true],
  ] as const)
    expect([await verifies(permit, keySet), await verifies(permit, newSet)]).toEqual([withOld, withNew])

  const verify = (what: string, keys: string) => operator.run(`npx countersign audit verify ${what} ${keys}`)
  const refused = /^Tampered with: .*(No known key has signed it|lacks the key that the permit names)\./
  for (const [what, theirs, others] of [
    ['"$SAFE/audit.ndjson"', OLD, NEW],
    ['--permit "$SAFE/permit.txt" --proof "$SAFE/proof.json"', OLD, NEW],
    ['"$SAFE/audit-new.ndjson" --kept "$SAFE/kept.txt"', NEW, OLD],
  ] as const) {
    expect(verify(what, theirs), what).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Intact: /) })
    expect(verify(what, others), what).toMatchObject({ code: 2, stdout: expect.stringMatching(refused) })
  }

  await operator.stop()
  operator.succeed(forget)
  await operator.serve(start)
  expect(complaintsOfKeys(operator.server)).toEqual([])
  await operator.stop()
  expect(operator.succeed('npx countersign doctor')).toMatch(/^ok +signing keys/m)
}, 120_000)
