import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { runPage } from './pages.mjs'

/**
 * The commands of docs/install.md after the first one; the last command speaks MCP.
 * @param {import('./machine.mjs').Machine} machine
 * @param {import('../readme.mjs').Block[]} blocks
 * @param {string} key
 */
export async function checkDoors(machine, blocks, key) {
  const folder = machine.serverFolder
  const proxied = blocks.at(-1)?.command ?? ''
  runPage(machine, 'docs/install.md', blocks.slice(0, -1), folder, {})
  const words = proxied.split(' ')
  const transport = new StdioClientTransport({
    ...{ command: words[0] ?? '', args: words.slice(1), cwd: folder, stderr: 'inherit' },
    env: { ...machine.env, COUNTERSIGN_URL: machine.url, COUNTERSIGN_API_KEY: key },
  })
  const client = new Client({ name: 'newcomer', version: '1.0.0' })
  await client.connect(transport)
  const path = join(folder, 'notes', 'todo.txt')
  const read = await client.callTool({ name: 'read_text_file', arguments: { path } })
  const moved = await client.callTool({ name: 'move_file', arguments: { source: path, destination: `${path}.old` } })
  await client.close()
  if (!JSON.stringify(read.content).includes('water the plants')) throw new Error(JSON.stringify(read))
  if (!moved.isError || !existsSync(path)) throw new Error(`The agent moved a file: ${JSON.stringify(moved)}`)
  console.log('docs/install.md: an agent read a file through the proxy, and was refused to move it')
}
