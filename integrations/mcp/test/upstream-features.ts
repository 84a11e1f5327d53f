/** The features of the protocol, as two servers of npm have them, each tried by one script. */
import { execFileSync } from 'node:child_process'
import { constants, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { vi } from 'vitest'
import { type DrivenClient, notified, PATIENCE_MS } from './driven-client.js'
import type { Line } from './transcript.js'

/** What proves that the server has a feature, in all that was said. */
type Evidence = (line: Line) => boolean

const asked =
  (method: string): Evidence =>
  (line) =>
    line.from === 'server' && line.kind === 'request' && line.method === method
const told =
  (method: string): Evidence =>
  (line) =>
    line.from === 'server' && notified(method)(line)
const answered =
  (method: string): Evidence =>
  ({ from, kind, method: of, body }) =>
    from === 'server' && kind === 'response' && of === method && 'result' in Object(body)
const resultWith =
  (member: string): Evidence =>
  (line) =>
    line.from === 'server' && line.kind === 'response' && member in Object(Object(line.body).result)

/** The features that a server may have. */
export const EVIDENCE: Readonly<Record<string, Evidence>> = {
  progress: told('notifications/progress'),
  sampling: asked('sampling/createMessage'),
  roots: asked('roots/list'),
  elicitation: asked('elicitation/create'),
  logging: told('notifications/message'),
  resources: answered('resources/read'),
  'resource templates': answered('resources/templates/list'),
  'resource subscriptions': told('notifications/resources/updated'),
  prompts: answered('prompts/get'),
  completion: answered('completion/complete'),
  cancellation: (line) => line.from === 'client' && notified('notifications/cancelled')(line),
  'changes of the list of tools': told('notifications/tools/list_changed'),
  'changes of the list of resources': told('notifications/resources/list_changed'),
  'changes of the list of prompts': told('notifications/prompts/list_changed'),
  'tasks of the server': answered('tasks/result'),
  'tasks of the client': asked('tasks/result'),
  'structured content': resultWith('structuredContent'),
  'lists of several pages': resultWith('nextCursor'),
  'input of 2026-07-28': ({ body }) => Object(Object(body).result).resultType === 'input_required',
}

/** A server of npm, and how each feature of it is tried. */
export interface Upstream {
  /** Of npm. */
  readonly name: string
  /** Arguments of node. */
  readonly args: readonly string[]
  readonly roots: { readonly uri: string; readonly name: string }[]
  readonly script: Readonly<Record<string, (client: DrivenClient, feature: string) => Promise<unknown>>>
  /** What it says when it knows that roots have changed. */
  readonly knowsRoots: Evidence
  /** The features that it has not, so that nothing is shown about them. */
  readonly lacks: readonly (keyof typeof EVIDENCE & string)[]
}

const binOf = (name: string): string =>
  join(dirname(createRequire(import.meta.url).resolve(`@modelcontextprotocol/${name}/package.json`)), 'dist/index.js')

/** @param transport of the command line of the server */
export function serverEverything(transport: 'stdio' | 'streamableHttp'): Upstream {
  const research = { topic: 'python', ambiguous: true }
  return {
    name: `server-everything over ${transport}`,
    args: [binOf('server-everything'), transport],
    roots: [{ uri: 'file:///srv/one', name: 'one' }],
    knowsRoots: (line) => told('notifications/message')(line) && /^Roots updated/.test(Object(line.body).data),
    lacks: [
      // Over HTTP it tells of them before the client listens.
      ...(transport === 'stdio' ? [] : ['changes of the list of tools']),
      'changes of the list of prompts',
      'lists of several pages',
      'input of 2026-07-28',
    ],
    script: {
      // It asks for the roots a while after it was opened.
      opening: (client, feature) => client.heard(feature, told('notifications/message')),
      async tools(client) {
        await client.toolNames()
        await client.call('echo', { message: 'hello' })
        await client.call('get-sum', { a: 2, b: 3 })
        await client.call('get-tiny-image')
        await client.call('get-annotated-message', { messageType: 'error', includeImage: true })
        await client.call('get-resource-links', { count: 3 })
        await client.call('get-resource-reference', { resourceType: 'Text', resourceId: 1 })
        await client.call('get-resource-reference', { resourceType: 'Blob', resourceId: 2 })
        await client.call('get-structured-content', { location: 'New York' })
        await client.call('get-sum', { a: 'two' })
        await client.call('no-such-tool')
        await client.sdk.ping()
      },
      progress: (client) => client.call('trigger-long-running-operation', { duration: 0.2, steps: 4 }, () => undefined),
      sampling: (client) => client.call('trigger-sampling-request', { prompt: 'Greet me.', maxTokens: 20 }),
      async roots(client, feature) {
        client.roots = [...client.roots, { uri: 'file:///srv/two', name: 'two' }]
        await client.sdk.sendRootsListChanged()
        await client.heard(feature, told('notifications/message'))
        await client.call('get-roots-list')
      },
      async elicitation(client) {
        await client.call('trigger-elicitation-request')
        await client.call('trigger-url-elicitation', { url: 'https://example.com/', elicitationId: 'one' })
        await client.call('trigger-url-elicitation', { url: 'https://example.com/', errorPath: true })
      },
      async logging(client, feature) {
        await client.sdk.setLoggingLevel('debug')
        await client.call('toggle-simulated-logging')
        await client.heard(feature, told('notifications/message'))
        await client.call('toggle-simulated-logging')
      },
      async resources(client) {
        await client.sdk.listResources()
        await client.sdk.listResourceTemplates()
        for (const uri of ['text/1', 'blob/2', 'text/none'])
          await client.tried(client.sdk.readResource({ uri: `demo://resource/dynamic/${uri}` }))
        await client.tried(client.sdk.readResource({ uri: 'demo://resource/static/document/features.md' }))
      },
      async 'resource subscriptions'(client, feature) {
        const uri = 'demo://resource/dynamic/text/1'
        await client.sdk.subscribeResource({ uri })
        await client.call('toggle-subscriber-updates')
        await client.heard(feature, told('notifications/resources/updated'))
        await client.call('toggle-subscriber-updates')
        await client.sdk.unsubscribeResource({ uri })
      },
      async prompts(client) {
        await client.sdk.listPrompts()
        await client.sdk.getPrompt({ name: 'simple-prompt' })
        await client.sdk.getPrompt({ name: 'args-prompt', arguments: { city: 'Oslo' } })
        await client.sdk.getPrompt({ name: 'resource-prompt', arguments: { resourceType: 'Text', resourceId: '1' } })
        await client.tried(client.sdk.getPrompt({ name: 'no-such-prompt' }))
      },
      async completion(client) {
        const ref = { type: 'ref/prompt' as const, name: 'completable-prompt' }
        await client.sdk.complete({ ref, argument: { name: 'department', value: 'S' } })
        const context = { arguments: { department: 'Sales' } }
        await client.sdk.complete({ ref, argument: { name: 'name', value: '' }, context })
        const template = { type: 'ref/resource' as const, uri: 'demo://resource/dynamic/text/{resourceId}' }
        await client.sdk.complete({ ref: template, argument: { name: 'resourceId', value: '1' } })
      },
      // The tool waits for the client's answer.
      async cancellation(client) {
        const params = { name: 'trigger-sampling-request', arguments: { prompt: 'Greet nobody.', maxTokens: 20 } }
        await cancel(
          client,
          params,
          () =>
            new Promise((begin) => {
              client.beforeSampling = () => new Promise((answer) => begin(async () => answer()))
            }),
        )
        client.beforeSampling = async () => undefined
      },
      async 'changes of lists'(client, feature) {
        const data = 'data:text/plain,hello'
        await client.call('gzip-file-as-resource', { name: 'one.gz', data, outputType: 'resource' })
        await client.heard(feature, told('notifications/resources/list_changed'))
        await client.sdk.listResources()
      },
      async 'tasks of the server'(client) {
        const { tasks } = client.sdk.experimental
        await client.callAsTask('simulate-research-query', research)
        const { tasks: all } = await tasks.listTasks()
        for (const { taskId } of all) await client.tried(tasks.getTask(taskId))
        // Over already.
        for (const { taskId } of all) await client.tried(tasks.cancelTask(taskId))
        await client.tried(tasks.getTask('no-such-task'))
        // It is a task, or nothing.
        await client.call('simulate-research-query', research)
      },
      async 'a cancelled task'(client) {
        const { tasks } = client.sdk.experimental
        const params = { name: 'simulate-research-query', arguments: { topic: 'ethics' } }
        for await (const message of tasks.callToolStream(params, undefined, { task: { ttl: 60_000 } })) {
          if (message.type === 'taskCreated') await tasks.cancelTask(message.task.taskId)
        }
      },
      'tasks of the client': (client) => client.call('trigger-sampling-request-async', { prompt: 'Greet me later.' }),
    },
  }
}

/** @param folder an empty one, that it may use */
export function serverFilesystem(folder: string): Upstream {
  const root = realpathSync(folder)
  const path = (name: string): string => join(root, name)
  const uri = pathToFileURL(root).href
  mkdirSync(path('inbox'), { recursive: true })
  writeFileSync(path('inbox/letter.txt'), 'Dear reader,\nthis is a letter.\n')
  execFileSync('mkfifo', [path('pipe')])
  return {
    name: 'server-filesystem over stdio',
    args: [binOf('server-filesystem'), root],
    roots: [{ uri, name: 'root' }],
    knowsRoots: asked('roots/list'),
    lacks: [
      'progress',
      'sampling',
      'elicitation',
      'logging',
      'resources',
      'resource templates',
      'resource subscriptions',
      'prompts',
      'completion',
      'changes of the list of tools',
      'changes of the list of resources',
      'changes of the list of prompts',
      'tasks of the server',
      'tasks of the client',
      'lists of several pages',
      'input of 2026-07-28',
    ],
    script: {
      opening: (client, feature) => client.heard(feature, asked('roots/list')),
      async tools(client) {
        await client.toolNames()
        await client.call('list_allowed_directories')
        await client.call('list_directory', { path: root })
        await client.call('read_text_file', { path: path('inbox/letter.txt'), head: 1 })
        await client.call('read_multiple_files', { paths: [path('inbox/letter.txt'), path('none')] })
        await client.call('write_file', { path: path('inbox/answer.txt'), content: 'Thanks.\n' })
        const edits = [{ oldText: 'Thanks', newText: 'Thank you' }]
        await client.call('edit_file', { path: path('inbox/answer.txt'), edits, dryRun: true })
        await client.call('move_file', { source: path('inbox/answer.txt'), destination: path('inbox/sent.txt') })
        await client.call('search_files', { path: root, pattern: '**/*.txt' })
        await client.call('move_file', { source: path('inbox/sent.txt'), destination: path('inbox/answer.txt') })
        await client.call('read_text_file', { path: '/etc/passwd' })
        await client.call('read_text_file', {})
        await client.call('no-such-tool')
        await client.sdk.ping()
      },
      progress: (client) => client.call('directory_tree', { path: root, excludePatterns: ['pipe'] }, () => undefined),
      async roots(client, feature) {
        client.roots = [{ uri: `${uri}/inbox`, name: 'inbox' }]
        await client.sdk.sendRootsListChanged()
        await client.heard(feature, asked('roots/list'))
      },
      async 'roots as they were'(client, feature) {
        client.roots = [{ uri, name: 'root' }]
        await client.sdk.sendRootsListChanged()
        await client.heard(feature, asked('roots/list'))
      },
      logging: (client) => client.tried(client.sdk.setLoggingLevel('debug')),
      async resources(client) {
        await client.tried(client.sdk.listResources())
        await client.tried(client.sdk.listResourceTemplates())
        await client.tried(client.sdk.readResource({ uri: pathToFileURL(path('inbox/letter.txt')).href }))
        await client.tried(client.sdk.subscribeResource({ uri }))
      },
      async prompts(client) {
        await client.tried(client.sdk.listPrompts())
        await client.tried(client.sdk.getPrompt({ name: 'any' }))
      },
      async completion(client) {
        const ref = { type: 'ref/prompt' as const, name: 'any' }
        await client.tried(client.sdk.complete({ ref, argument: { name: 'any', value: '' } }))
      },
      // The tool reads until somebody has written; nobody can begin to before it reads.
      cancellation: (client) =>
        cancel(client, { name: 'read_text_file', arguments: { path: path('pipe') } }, async () => {
          const writing = () => open(path('pipe'), constants.O_WRONLY | constants.O_NONBLOCK)
          const pipe = await vi.waitFor(writing, { timeout: PATIENCE_MS, interval: 20 })
          return async () => {
            await pipe.write('late')
            await pipe.close()
          }
        }),
      async 'tasks of the server'(client) {
        await client.tried(client.callAsTask('list_allowed_directories', {}))
        await client.tried(client.sdk.experimental.tasks.listTasks())
      },
    },
  }
}

/**
 * Leaves a call in progress, lets it end, and goes on: nobody may answer it.
 *
 * @param begun resolves, once the tool runs, with what lets it end
 */
async function cancel(
  client: DrivenClient,
  params: { readonly name: string; readonly arguments: Record<string, unknown> },
  begun: () => Promise<() => Promise<unknown>>,
): Promise<void> {
  const leaving = new AbortController()
  const beginning = begun()
  const calling = client.sdk.callTool(params, undefined, { signal: leaving.signal, timeout: PATIENCE_MS })
  calling.catch(() => undefined)
  const end = await beginning
  leaving.abort()
  await client.tried(calling)
  // By its response the server has read that the call was cancelled, too.
  await client.sdk.ping()
  await end()
  await client.sdk.ping()
}
