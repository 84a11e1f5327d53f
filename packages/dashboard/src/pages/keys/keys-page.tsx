import type { ApiKey } from '@countersign/contract'
import { Button, Stack, Switch, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import type { ColumnDef } from '@tanstack/react-table'
import { useEffect, useMemo, useState } from 'react'
import { listKeys, type MaybeWithSecret, revokeKey, rotateKey } from '../../api/keys'
import { replaceSession } from '../../api/query-client'
import { usePages } from '../../api/use-pages'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { DataTable } from '../../components/data-table'
import { Dialog } from '../../components/dialog'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { endOfGrace, RotateDialog } from '../../components/rotate-dialog'
import { type OnceSecret, SecretOnce } from '../../components/secret-once'
import { Ago } from '../../components/time'
import { TwoLines } from '../../components/two-lines'
import { useMay, useSession } from '../../session'
import { CreateKeyForm } from './create-key-form'
import { CreatedBy } from './created-by'
import { KeyFacts } from './key-facts'
import { type KeyDeed, KeyMenu } from './key-menu'
import { KeyStateBadge } from './key-state'

const REFRESH_MS = 30_000
/** Revoked keys are hidden, so the page keeps reading until it has this many others. */
const ENOUGH = 30

/** The API keys, with dialogs that create, rotate and revoke them. */
export function KeysPage() {
  const may = useMay()
  const client = useQueryClient()
  const { key: own } = useSession()
  const [showsRevoked, setShowsRevoked] = useState(false)
  const [isCreating, setCreating] = useState(false)
  const [open, setOpen] = useState<{ readonly deed: KeyDeed; readonly key: ApiKey } | null>(null)
  const list = usePages({ queryKey: ['keys', 'list'], read: listKeys, scope: 'keys:read', refreshMs: REFRESH_MS })
  const { loadMore, isLoadingMore } = list
  const rows = useMemo(
    () => list.rows.filter(({ revoked_at }) => showsRevoked || revoked_at === null),
    [list.rows, showsRevoked],
  )
  useEffect(() => {
    if (rows.length < ENOUGH && loadMore !== null && !isLoadingMore) loadMore()
  }, [rows.length, loadMore, isLoadingMore])
  const columns = useMemo(() => columnsOf(own.id, (deed, key) => setOpen({ deed, key })), [own.id])

  const readAgain = () => client.invalidateQueries({ queryKey: ['keys'] })
  const close = () => setOpen(null)
  const nameOf = (deed: KeyDeed) => (open?.deed === deed ? visibleText(open.key.name) : '')
  const rotate = async (id: string, graceSeconds: number, onceKey: string) => {
    const key = await rotateKey(id, graceSeconds, onceKey)
    void readAgain()
    return secretOf(key, `The old secret ends ${endOfGrace(graceSeconds)}.`)
  }
  const revoke = async (id: string) => {
    await revokeKey(id)
    // The session has ended together with its key.
    if (id === own.id) replaceSession(null)
    else void readAgain()
  }
  return (
    <Page
      title="API keys"
      lead="Control who can call the API and what they can do."
      scopes={['keys:read']}
      actions={may('keys:write') && <Button onClick={() => setCreating(true)}>Create a key</Button>}
    >
      <Stack gap="sm">
        <Switch
          label="Show revoked keys"
          checked={showsRevoked}
          onChange={(event) => setShowsRevoked(event.currentTarget.checked)}
        />
        {list.error !== null && <ErrorNotice error={list.error} retry={list.refetch} />}
        {list.isPending && <Loading what="keys" />}
        {!list.isPending && list.error === null && rows.length === 0 && (
          <Empty title="No active keys">Show revoked keys or create a new one.</Empty>
        )}
        {rows.length > 0 && <DataTable label="API keys" columns={columns} rows={rows} more={list} />}
      </Stack>
      <SecretOnce title="Create a key" opened={isCreating} onClose={() => setCreating(false)} size="xl">
        {(show) => (
          <CreateKeyForm
            onClose={() => setCreating(false)}
            onCreated={(key) => {
              show(secretOf(key, 'Programs send it with each request: Authorization: Bearer, then the secret.'))
              void readAgain()
            }}
          />
        )}
      </SecretOnce>
      <Dialog title={nameOf('show')} opened={open?.deed === 'show'} onClose={close} size="lg">
        {open !== null && <KeyFacts apiKey={open.key} />}
      </Dialog>
      <RotateDialog
        title={`Rotate ${nameOf('rotate')}`}
        opened={open?.deed === 'rotate'}
        onClose={close}
        explanation="The key gets a new secret, which is shown once. Its scopes, agents and expiry do not change. Dashboard sessions stay signed in; revoke the key to end them."
        rotate={(graceSeconds, onceKey) => rotate(open?.key.id ?? '', graceSeconds, onceKey)}
      />
      <ConfirmDialog
        title={`Revoke ${nameOf('revoke')}?`}
        opened={open?.deed === 'revoke'}
        onClose={close}
        action="Revoke permanently"
        isDangerous
        run={() => revoke(open?.key.id ?? '')}
      >
        <Text>
          Every program that uses this key is refused, immediately on this server and within 5 seconds on others.
          Dashboard sessions of this key end too. This cannot be undone.
        </Text>
        {open?.key.id === own.id && <Text mt="xs">This is the key of your session, so you will be signed out.</Text>}
      </ConfirmDialog>
    </Page>
  )
}

function secretOf({ key, name }: MaybeWithSecret, note: string): OnceSecret {
  return { title: `The secret of ${visibleText(name)}`, secret: key, note }
}

function columnsOf(ownId: string, onDeed: (deed: KeyDeed, key: ApiKey) => void): ColumnDef<ApiKey>[] {
  return [
    {
      id: 'name',
      header: 'Name',
      size: 0,
      cell: ({ row: { original } }) => (
        <TwoLines
          first={original.name}
          second={original.id === ownId ? `${original.hint} · your session` : original.hint}
        />
      ),
    },
    {
      id: 'scopes',
      header: 'Scopes and agents',
      size: 0,
      enableHiding: true,
      cell: ({ row: { original } }) => (
        <TwoLines
          first={original.scopes.join(', ')}
          second={original.agents === null ? 'any agent' : visibleText(original.agents.join(', '))}
        />
      ),
    },
    {
      id: 'by',
      header: 'Created by',
      size: 106,
      enableHiding: true,
      cell: ({ row }) => <CreatedBy id={row.original.created_by} />,
    },
    {
      id: 'used',
      header: 'Last used',
      size: 116,
      enableHiding: true,
      cell: ({ row }) => <When at={row.original.last_used_at} />,
    },
    {
      id: 'expires',
      header: 'Expires',
      size: 86,
      enableHiding: true,
      cell: ({ row }) => <When at={row.original.expires_at} />,
    },
    { id: 'state', header: 'State', size: 114, cell: ({ row }) => <KeyStateBadge apiKey={row.original} /> },
    {
      id: 'deeds',
      header: () => <span className="visually-hidden">Actions</span>,
      size: 32,
      cell: ({ row: { original } }) => <KeyMenu apiKey={original} onDeed={(deed) => onDeed(deed, original)} />,
    },
  ]
}

function When({ at }: { readonly at: string | null }) {
  return at === null ? <span className="quiet">never</span> : <Ago at={at} />
}
