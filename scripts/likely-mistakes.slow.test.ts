/**
 * The mistakes that a newcomer makes, with the packed packages in a clean folder against a server: each is told, on stderr or
 * in the answer, with what is wrong and how to mend it. Prints what is said.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { Countersign } from '@countersign/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installIn, serveIn } from './clean-project.js'
import { packPackages } from './pack.mjs'

const run = promisify(execFile)
const HERE = fileURLToPath(new URL('../integrations/express/test/', import.meta.url))
const SERVER = fileURLToPath(new URL('../server/bin/countersign.js', import.meta.url))

interface Mistake {
  readonly name: string
  /** The key or address that the app is given in place of the right one. */
  readonly env?: () => NodeJS.ProcessEnv
  readonly clockOffMinutes?: number
  /** What stands on stderr, in this order. Null: nothing. */
  readonly stderr: RegExp | null
  /** What the caller is answered: status, media type and text. */
  readonly answer: RegExp
}

const temporary = mkdtempSync(join(tmpdir(), 'countersign-mistakes-'))
const project = join(temporary, 'app')
const keys: Record<string, string> = {}
let server: Awaited<ReturnType<typeof serveIn>>

const MISTAKES: readonly Mistake[] = [
  {
    name: 'server down',
    env: () => ({ COUNTERSIGN_URL: 'http://127.0.0.1:1' }),
    stderr: /COUNTERSIGN_UNREACHABLE.*ECONNREFUSED 127\.0\.0\.1:1.*Start it, or set COUNTERSIGN_URL/,
    answer: /503 application\/problem\+json.*gave no usable answer.*Try again later/,
  },
  {
    name: 'wrong key',
    env: () => ({ COUNTERSIGN_API_KEY: 'cs_sk_wrong' }),
    stderr: /COUNTERSIGN_WRONG_KEY.*401 unauthorized.*Set COUNTERSIGN_API_KEY/,
    answer: /503 .*The decision point rejected the request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'missing scope',
    env: () => ({ COUNTERSIGN_API_KEY: keys.reader }),
    stderr:
      /COUNTERSIGN_MISSING_SCOPE.*needs the scope decisions:write; the key has policies:read.*Create a key that has it/,
    answer: /503 .*The decision point rejected the request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'bound key',
    env: () => ({ COUNTERSIGN_API_KEY: keys.bound }),
    stderr:
      /COUNTERSIGN_AGENT_NOT_ALLOWED.*bound to other agents.*Ask for an agent of the key, or create a key for this one/,
    answer: /403 .*The decision point rejected the request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'no body parser',
    stderr: /COUNTERSIGN_NO_BODY_PARSER.*req\.body is undefined.*put app\.use\(express\.json\(\)\) before the route/,
    answer: /403 .*could not be mapped to a request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'no body parser, and careful',
    stderr: /COUNTERSIGN_NO_BODY_PARSER.*req\.body is undefined.*put app\.use\(express\.json\(\)\) before the route/,
    answer: /403 .*could not be mapped to a request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'malformed action',
    stderr: /COUNTERSIGN_QUESTION_REFUSED.*\/action .*Correct what gives this member/,
    answer: /403 .*The decision point rejected the request.*The operator finds the cause in the warnings/,
  },
  {
    name: 'wrong issuer',
    stderr:
      /COUNTERSIGN_NO_PERMIT_HOLDS.*issuer_mismatch.*from the issuer "(http:\/\/[^"/]+)", not "\1\/".*issuer is its ISSUER/,
    answer: /401 .*This service does not accept permits of this issuer.*warnings/,
  },
  {
    name: 'wrong key set',
    stderr:
      /COUNTERSIGN_NO_PERMIT_HOLDS.*key_set_unavailable.*\/jwks\.json answered 404.*jwks the URL of its \/\.well-known\/jwks\.json/,
    answer: /503 .*cannot read the keys of the decision point now.*Try again later.*warnings/,
  },
  {
    name: 'clock 10 min ahead',
    clockOffMinutes: 10,
    stderr:
      /COUNTERSIGN_CLOCK.*a decision had expired (299|30\d) s before it arrived, so this clock is ahead.*set both by NTP/,
    answer: /403 .*The decision has expired.*the operator must set the clock of this service/,
  },
  {
    name: 'clock 10 min behind',
    clockOffMinutes: -10,
    stderr:
      /COUNTERSIGN_CLOCK.*issued_in_future.*issued in the future, (59\d|600) s ahead by the clock of this machine.*set both by NTP/,
    answer: /401 .*signed in the future by the clock of this service.*The operator must set the clocks/,
  },
  {
    name: 'guard twice',
    stderr: /COUNTERSIGN_GUARD_TWICE.*asked for the same decision twice.*holds its budget twice.*Mount the guard once/,
    answer: /403 .*"code":"denied"/,
  },
  {
    name: 'forgotten permitErrors',
    stderr: /COUNTERSIGN_NO_PERMIT_ERRORS.*as a page of HTML.*Put app\.use\(permitErrors\(\)\) after the routes/,
    answer: /403 text\/html.*RouteDeniedError: .+ \(denied, decision dec_\w+\)<\/pre>/,
  },
  {
    name: 'none',
    stderr: null,
    answer: /200 .*refunded.*200 .*booked/,
  },
]

beforeAll(async () => {
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  for (const file of ['mistaken-app.mjs', 'shifted-clock.mjs']) copyFileSync(join(HERE, file), join(project, file))
  const packed = packPackages(join(temporary, 'tarballs'))
  const needed = packed.find(({ name }) => name === '@countersign/express')?.needs ?? []
  const tarballs = packed.filter(({ name }) => needed.includes(name)).map(({ tarball }) => tarball)
  await installIn(project, `npm install express jose zod ${tarballs.join(' ')}`)
  server = await serveIn(temporary, process.execPath, [SERVER, 'serve'])
  const admin = new Countersign({ baseUrl: server.env.COUNTERSIGN_URL, apiKey: server.env.COUNTERSIGN_API_KEY })
  await admin.policies.create({
    name: 'refunds',
    rules: [{ action: 'order.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } }],
    budget: { limit: 100, unit: 'EUR', period: 'monthly' },
  })
  keys.reader = (await admin.keys.create({ name: 'reader', scopes: ['policies:read'] })).key
  keys.bound = (await admin.keys.create({ name: 'bound', scopes: ['decisions:write'], agents: ['agent:other'] })).key
  admin.close()
}, 60_000)
afterAll(async () => {
  await server?.stop()
  rmSync(temporary, { recursive: true, force: true })
})

describe('a likely mistake', () => {
  it.each(MISTAKES)(
    '$name',
    async ({ name, env, clockOffMinutes, stderr, answer }) => {
      const clock = ['--import', pathToFileURL(join(project, 'shifted-clock.mjs')).href]
      const ended = await run(process.execPath, [...(clockOffMinutes ? clock : []), 'mistaken-app.mjs', name], {
        cwd: project,
        env: { ...server.env, CLOCK_OFF_MINUTES: String(clockOffMinutes ?? 0), ...env?.() },
      })
      const answers = ended.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const answered = answers.map(({ status, type, body }) => `${status} ${type} ${body}`).join('\n')
      const said = ended.stderr.split('\n').filter((line) => line.includes('CountersignWarning'))
      const transcript = [
        ...said.map((line) => line.replace(/^\(node:\d+\) /, '')),
        ...answers.map(({ status, body }) => `${status}: ${textOf(body)}`),
      ]
      console.log(`${name}\n  ${transcript.join('\n  ')}`)
      expect(answered).toMatch(new RegExp(answer, 's'))
      if (stderr === null) expect(ended.stderr).toBe('')
      else expect(said.join('\n')).toMatch(new RegExp(stderr, 's'))
      expect(answered).not.toContain('node_modules')
      expect(ended.stderr + answered).not.toMatch(/cs_sk_|eyJ/)
    },
    30_000,
  )
})

/** The detail of a problem, and any other answer as it is. */
function textOf(body: string): string {
  return body.startsWith('{') ? (JSON.parse(body).detail ?? body) : body.replace(/^.*<pre>|<\/pre>.*$/gs, '')
}
