import { relative } from 'node:path'
import pc from 'picocolors'

export interface ReadyFacts {
  readonly url: string
  /** Signs in to the dashboard, once; null when no key allows it. */
  readonly signInLink: string | null
  /** The kind of store and its location. */
  readonly store: string
  readonly policyCount: number
  readonly readyMs: number
  /** The first key, on the first start only. */
  readonly firstKey: string | null
  /** The file that contains the first key, while it exists. */
  readonly keyFile: string | null
}

/** The text at a terminal when the server is ready. */
export function banner(facts: ReadyFacts): string {
  const policies =
    facts.policyCount === 0
      ? '0 policies, so every request is denied'
      : `${facts.policyCount} ${facts.policyCount === 1 ? 'policy' : 'policies'}`
  const lines = [
    '',
    `  ${pc.bold(`Countersign is ready in ${(facts.readyMs / 1000).toFixed(1)} s`)}`,
    '',
    `  Dashboard  ${pc.cyan(facts.signInLink ?? facts.url)}`,
    ...(facts.signInLink === null ? [] : ['             signs you in once, within 10 minutes']),
    `  API        ${facts.url}`,
    `  Reference  ${facts.url}/docs`,
    `  Store      ${facts.store}`,
    `  Policies   ${policies}`,
  ]
  if (facts.firstKey !== null)
    lines.push(`  API key    ${pc.yellow(facts.firstKey)}`, `             shown only now, kept in ${facts.keyFile}`)
  lines.push('', '  Ask for a decision:', '', ...curl(facts).map((line) => `  ${line}`), '')
  return `${lines.join('\n')}\n`
}

function curl({ url, firstKey, keyFile }: ReadyFacts): string[] {
  const key = firstKey ?? (keyFile === null ? '$COUNTERSIGN_API_KEY' : `$(cat ${shellWord(relativePath(keyFile))})`)
  return [
    `curl -s ${url}/v1/decisions \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"agent_id": "agent:support-7", "action": "payment.refund", "context": {"amount": 42.5}}'`,
  ]
}

function relativePath(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

function shellWord(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
