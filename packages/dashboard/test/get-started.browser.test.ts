/** Follows the page from a fresh server to its first decision. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { freePort } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { createPolicy, everyItem, makeKey } from '../../../server/test/api/refunds.js'
import { EXAMPLE_POLICY } from '../src/example-policy.js'
import { READ_KEY, snippetsFor } from '../src/pages/get-started/snippets.js'
import { type Stage, stage } from './support/browser.js'

/** The folder where the packages of the snippets are installed. */
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Runs a command in a shell that first asks for the key. Resolves with the output. */
function typed(command: string, key: string): Promise<string> {
  const child = spawn('bash', ['--norc', '-c', `${READ_KEY}\n${command}`], {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(`${key}\n`)
  return printedBy(child)
}

/** Returns the snippet that the page shows. */
async function shownIn({ page, server }: Stage, name: string): Promise<string> {
  const { file } = snippetsFor(server.url).find((one) => one.name === name) ?? {}
  await page.getByRole('tab', { name }).click()
  const shown = page.getByRole('region', { name: file ?? 'In the terminal', exact: true })
  return (await shown.locator('pre').textContent()) as string
}

describe('the first decision', () => {
  const on = stage()

  it('comes after a key, a policy and a curl, and turns the row green', async () => {
    await on.open('/get-started', 'Get started')
    const row = on.page.getByRole('status').filter({ hasText: 'first decision' })
    await row.getByText('Waiting for the first decision …').waitFor()
    await on.page.getByRole('tab', { name: 'LangChain' }).click()
    await on.look('get-started')
    await on.narrow('get-started')

    await on.page.getByRole('link', { name: 'Go to the API keys' }).click()
    await expect.poll(() => new URL(on.page.url()).pathname).toBe('/keys')
    await on.page.goBack()
    const { key } = await makeKey(on.server, ['decisions:write'], { agents: ['agent:support-*'] })

    await on.page.getByRole('button', { name: 'Create this example policy' }).click()
    await on.page.getByText('The policy is on this server.').waitFor()
    expect(await on.page.getByRole('button', { name: 'Create this example policy' }).count()).toBe(0)

    const command = await shownIn(on, 'curl')
    expect(command).toContain(on.server.url)
    const { id, effect } = JSON.parse(await typed(command, key))
    expect(effect).toBe('allow')

    const arrived = on.page.getByRole('status').filter({ hasText: 'A decision has arrived.' })
    await arrived.getByText('payment.refund').waitFor()
    expect(await arrived.getAttribute('data-arrived')).toBe('true')
    await arrived.scrollIntoViewIfNeeded()
    await on.screenshot('get-started-arrived')
    await arrived.getByRole('link', { name: 'See why' }).click()
    await expect.poll(() => new URL(on.page.url()).pathname).toBe(`/decisions/${id}`)
  })

  it('is there when the page is opened later, and the policy is not made twice', async () => {
    await on.open('/get-started', 'Get started')
    await on.page.getByText('A decision has arrived.').waitFor()
    await on.page.getByText('The policy is on this server.').waitFor()
    await on.page.getByRole('link', { name: 'Open it' }).click()
    await expect.poll(() => new URL(on.page.url()).pathname).toMatch(/^\/policies\/pol_/)
    expect(await everyItem(on.server, '/v1/policies')).toHaveLength(1)
  })

  it('shows each snippet as a tab, with buttons that copy it', async () => {
    await on.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await on.open('/get-started', 'Get started')
    for (const { name, code } of snippetsFor(on.server.url)) expect(await shownIn(on, name)).toBe(code)
    await shownIn(on, 'MCP')
    await on.page.getByRole('tabpanel').getByRole('button', { name: 'Copy' }).nth(1).click()
    await on.page.getByRole('button', { name: 'Copied' }).waitFor()
    expect(await on.page.evaluate(() => navigator.clipboard.readText())).toContain('gate(new McpServer(')
    await on.look('get-started-mcp')
  })
})

describe('a key that may do little', () => {
  const on = stage({ isSignedOut: true })

  it('is told what it may not do', async () => {
    const { key } = await makeKey(on.server, ['decisions:write'])
    const page = await on.another(key)
    await page.goto('/get-started')
    await page.getByText('Your key cannot create keys').waitFor()
    await page.getByText('Your key cannot create policies').waitFor()
    await page.getByText('Your key cannot read decisions').waitFor()
    await page.context().close()
  })
})

describe('a policy that somebody else has just created', () => {
  const on = stage({ isSignedOut: true })

  it('is not created once more, by a key that does not see policies either', async () => {
    const { key } = await makeKey(on.server, ['policies:write'])
    await createPolicy(on.server, EXAMPLE_POLICY)
    const page = await on.another(key)
    await page.goto('/get-started')
    await page.getByRole('button', { name: 'Create this example policy' }).click()
    await page.getByText('The policy is on this server.').waitFor()
    expect(on.complaints.splice(0)).toEqual([expect.stringContaining('409')])
    expect(await everyItem(on.server, '/v1/policies')).toHaveLength(1)
    await page.context().close()
  })
})

describe('a snippet', () => {
  const on = stage({ isSignedOut: true })

  async function prepared() {
    const [first] = await everyItem(on.server, '/v1/policies')
    if (first === undefined) await createPolicy(on.server, EXAMPLE_POLICY)
    const { key } = await makeKey(on.server, ['decisions:write'], { agents: ['agent:support-*'] })
    const snippet = (name: string) => snippetsFor(on.server.url).find((one) => one.name === name)?.code ?? ''
    return { key, snippet }
  }

  it.each([
    ['TypeScript SDK', 'The refund may run.\n'],
    ['LangChain', 'Refunded 42.5 for 8812.\nDone.\n'],
    ['MCP', 'Refunded 42.5 for 8812.\n'],
  ])('for %s runs as it is', async (name, expected) => {
    const { key, snippet } = await prepared()
    expect(await printedBy(startProgram(snippet(name), key))).toBe(expected)
  })

  it('for Express runs as it is, and refuses what the policy denies', async () => {
    const { key, snippet } = await prepared()
    const port = await freePort()
    const child = startProgram(snippet('Express').replaceAll('3000', String(port)), key)
    try {
      await once(child.stdout, 'data')
      const refund = (amount: number) =>
        fetch(`http://localhost:${port}/refunds/8812`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ amount }),
        })
      expect(await (await refund(42.5)).json()).toEqual({ refunded: '8812', decision: expect.stringMatching(/^dec_/) })
      expect((await refund(5000)).status).toBe(403)
    } finally {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  })
})

/** Starts a program of the page in a project that has its packages. */
function startProgram(code: string, key: string) {
  const child = spawn(process.execPath, ['--input-type=module'], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, COUNTERSIGN_API_KEY: key },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(code)
  return child
}

async function printedBy(child: ChildProcessByStdio<Writable, Readable, null>): Promise<string> {
  const [text, [status]] = await Promise.all([child.stdout.setEncoding('utf8').toArray(), once(child, 'exit')])
  expect(status).toBe(0)
  return text.join('')
}
