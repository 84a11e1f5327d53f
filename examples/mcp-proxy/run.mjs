/** An agent uses a file server that stands behind `countersign-mcp`. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Countersign } from '@countersign/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { startDecisionPoint } from '../decision-point.mjs'

const FOLDER = fileURLToPath(new URL('.', import.meta.url))
const CONFIG = join(FOLDER, 'countersign-mcp.json')
// Where they are installed, the commands are countersign-mcp and mcp-server-filesystem.
const PROXY = fileURLToPath(new URL('cli.js', import.meta.resolve('@countersign/mcp')))
const FILE_SERVER = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-filesystem/dist/index.js'))
const SERVER = ['--', process.execPath, FILE_SERVER, '.']

const { url, apiKey, stop } = await startDecisionPoint()
const folder = mkdtempSync(join(tmpdir(), 'countersign-files-'))
const files = join(folder, 'files')
mkdirSync(join(files, 'notes'), { recursive: true })
writeFileSync(join(files, 'notes', 'todo.txt'), 'water the plants\n')
writeFileSync(join(files, 'salaries.txt'), 'nobody needs to know\n')
try {
  tell('init finds the definitions that the edited mapping has pinned')
  const [mapping, policy] = ['mapping.json', 'policy.json'].map((name) => join(folder, name))
  const init = ['init', '--agent', 'agent:desk-1', '--config', mapping, '--policy', policy, ...SERVER]
  await promisify(execFile)(process.execPath, [PROXY, ...init], { cwd: files })
  const [written, edited] = [mapping, CONFIG].map(readJson)
  for (const [tool, { definition }] of Object.entries(edited.tools)) {
    assert.equal(written.tools[tool].definition, definition)
    tell(`  ${tool}`)
  }

  const admin = new Countersign({ baseUrl: url, apiKey })
  await admin.policies.create(readJson(join(FOLDER, 'countersign-mcp-policy.json')))
  // The proxy's key can ask, and answers nothing. Ada has another one.
  const scopes = ['decisions:write']
  const { key } = await admin.keys.create({ name: 'desk', scopes, agents: ['agent:desk-1'] })
  const answering = await admin.keys.create({ name: 'Ada', scopes: ['reviews:write', 'decisions:read'] })
  const ada = new Countersign({ baseUrl: url, apiKey: answering.key })

  // As the configuration of a client says it.
  const agent = new Client({ name: 'story', version: '1.0.0' })
  const env = { COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: key }
  const args = [PROXY, '--config', CONFIG, ...SERVER]
  await agent.connect(new StdioClientTransport({ command: process.execPath, args, cwd: files, env }))

  tell('\nThe agent sees only tools that it may call')
  const { tools } = await agent.listTools()
  tell(`  ${tools.map(({ name }) => name).join(', ')}`)
  assert.deepEqual(tools.map(({ name }) => name).sort(), [
    'list_allowed_directories',
    'list_directory',
    'read_text_file',
    'write_file',
  ])

  tell('\nIt reads notes, and nothing else')
  await expectCall(agent, ['read_text_file', { path: 'notes/todo.txt' }], { text: 'water the plants\n' })
  await expectCall(agent, ['read_text_file', { path: 'salaries.txt' }], { refused: 'denied' })
  await expectCall(agent, ['read_text_file', { path: 'notes/../salaries.txt' }], { refused: 'question_refused' })
  await expectCall(agent, ['directory_tree', { path: '.' }], { refused: 'unmapped' })

  tell('\nA person approves what it writes')
  const write = ['write_file', { path: 'notes/todo.txt', content: 'feed the cat\n' }]
  const id = await expectCall(agent, write, { refused: 'review_required' })
  assert.equal(readNote(), 'water the plants\n')
  const { resource, context } = await ada.decisions.get(id)
  tell(`  Ada reads: ${resource}, ${JSON.stringify(context)}`)
  await ada.decisions.approve(id)
  assert.equal(await expectCall(agent, write), id)
  assert.equal(readNote(), 'feed the cat\n')

  tell('\nIt cannot move files, even with the hidden tool')
  await expectCall(agent, ['move_file', { source: 'notes/todo.txt', destination: 'salaries.txt' }], {
    refused: 'denied',
  })
  await agent.close()

  assert.deepEqual(readdirSync(files).sort(), ['notes', 'salaries.txt'])
  assert.equal(readFileSync(join(files, 'salaries.txt'), 'utf8'), 'nobody needs to know\n')
  tell(`\nOn disk: notes/todo.txt says "${readNote().trim()}". Nothing else has changed.`)
} finally {
  await stop()
  rmSync(folder, { recursive: true, force: true })
}

/**
 * Makes a call; `refused` is the reason where it has to be refused. Resolves with the id of the decision.
 *
 * @returns {Promise<string | null>}
 */
async function expectCall(client, [name, args], { text, refused } = {}) {
  const { isError = false, content, _meta } = await client.callTool({ name, arguments: args })
  const said = content[0].text
  tell(`  ${name} ${Object.values(args).join(' ').trim()}: ${said.trim().replace(/dec_\w+/g, 'dec_…')}`)
  const { id, reason } = _meta['countersign/decision']
  assert.deepEqual([isError, reason], [refused !== undefined, refused])
  if (text !== undefined) assert.equal(said, text)
  return id
}

function readNote() {
  return readFileSync(join(files, 'notes', 'todo.txt'), 'utf8')
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'))
}

function tell(line) {
  console.log(line)
}
