import { Button, Group, Stack, Tabs, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { CodeBlock } from '../../components/code-block'
import { Page } from '../../components/page'
import { Panel } from '../../components/panel'
import { useMay } from '../../session'
import { FirstDecision } from './first-decision'
import { FirstPolicy } from './first-policy'
import classes from './get-started.module.css'
import { READ_KEY, type Snippet, snippetsFor } from './snippets'

/** Leads from a new server to its first decision. */
export function GetStartedPage() {
  return (
    <Page title="Get started" lead="Three steps to your first decision.">
      <div className={classes.steps}>
        <Panel title="1. A key for your agent">
          <FirstKey />
        </Panel>
        <Panel title="2. A first policy">
          <FirstPolicy />
        </Panel>
        <Panel title="3. Ask">
          <Stack gap="md">
            <Text>Your program asks before each action and acts only if the decision permits it.</Text>
            <Snippets />
            <FirstDecision />
          </Stack>
        </Panel>
        <Text className="quiet">
          Then: <Link to="/policies/new">write your own policy</Link>,{' '}
          <Link to="/simulator">try what it would decide</Link>, and look up each call in the{' '}
          <Link to="/docs">API reference</Link>.
        </Text>
      </div>
    </Page>
  )
}

function FirstKey() {
  const mayCreate = useMay()('keys:write')
  return (
    <Stack gap="sm">
      <Text>
        Create a key for your agent: <code>decisions:write</code> is all it needs. Bind the key to the agents{' '}
        <code>agent:support-*</code> so that it can ask for no others.
      </Text>
      {mayCreate ? (
        <Group>
          <Button variant="default" renderRoot={(props) => <Link {...props} to="/keys" />}>
            Go to the API keys
          </Button>
        </Group>
      ) : (
        <Text className="quiet">
          Your key cannot create keys: it is missing the scope keys:write. Ask someone with access.
        </Text>
      )}
      <Text>In the terminal where your agent runs, enter this, then paste the key:</Text>
      <CodeBlock code={READ_KEY} label="Set the key" />
      <Text size="sm" className="quiet">
        The key stays hidden while you paste it. Press Enter afterwards.
      </Text>
    </Stack>
  )
}

function Snippets() {
  const snippets = snippetsFor(window.location.origin)
  return (
    <Tabs defaultValue={snippets[0]?.name ?? null} keepMounted={false}>
      <Tabs.List>
        {snippets.map(({ name }) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map((snippet) => (
        <Tabs.Panel key={snippet.name} value={snippet.name} pt="sm">
          <SnippetView snippet={snippet} />
        </Tabs.Panel>
      ))}
    </Tabs>
  )
}

function SnippetView({ snippet: { install, file, code, run } }: { readonly snippet: Snippet }) {
  return (
    <Stack gap="xs">
      {install !== null && (
        <>
          <Text size="sm">The packages are not in a registry yet. In a folder next to a checkout of Countersign:</Text>
          <CodeBlock code={install} label="Install" />
        </>
      )}
      <CodeBlock code={code} label={file ?? 'In the terminal'} />
      {run.map((command, index) => (
        <CodeBlock key={command} code={command} label={index === 0 ? 'Run it' : 'In another terminal'} />
      ))}
    </Stack>
  )
}
