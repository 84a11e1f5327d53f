import type { Scope } from '@countersign/contract'
import { Center, Group, Loader, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { useMay } from '../session'
import { Notice } from './notice'

export interface PageProps {
  readonly title: string
  /** Shown instead of the title. */
  readonly heading?: ReactNode
  /** One sentence that says what the page is for. */
  readonly lead?: ReactNode
  /** Buttons to the right of the title. */
  readonly actions?: ReactNode
  /** The scopes that the session's key needs to view the page. */
  readonly scopes?: readonly Scope[]
  readonly children: ReactNode
}

/** A page. It sets the title of the window, and focuses its heading, where a screen reader starts. */
export function Page({ title, heading, lead, actions, scopes = [], children }: PageProps) {
  const ref = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Countersign`
  }, [title])
  useEffect(() => {
    ref.current?.focus({ preventScroll: true })
  }, [])
  const may = useMay()
  const missing = scopes.filter((scope) => !may(scope))
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ minWidth: 0, flex: '1 1 16rem' }}>
          <Title order={1} ref={ref} tabIndex={-1} style={{ overflowWrap: 'anywhere' }}>
            {heading ?? title}
          </Title>
          {lead !== undefined && (
            <Text className="quiet" mt={4} component="div">
              {lead}
            </Text>
          )}
        </div>
        {missing.length === 0 && actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {missing.length === 0 ? children : <MissingScopes scopes={missing} />}
    </Stack>
  )
}

function MissingScopes({ scopes }: { readonly scopes: readonly Scope[] }) {
  return (
    <Notice kind="info" title="Your key cannot view this page">
      It is missing the scope {scopes.join(' and ')}. Sign in with a key that has it.
    </Notice>
  )
}

/** The content of an empty list: why it is empty, and the next step. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <Center
      p="xl"
      style={{ border: '1px dashed var(--line)', borderRadius: 'var(--mantine-radius-md)', textAlign: 'center' }}
    >
      <Stack gap="sm" align="center" maw="34rem">
        <Text fw={600}>{title}</Text>
        {children !== undefined && (
          <Text component="div" className="quiet">
            {children}
          </Text>
        )}
      </Stack>
    </Center>
  )
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <Center p="xl">
      <Loader size="sm" aria-label={`Loading ${what}`} role="status" />
    </Center>
  )
}
