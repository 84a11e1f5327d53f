import type { Checkpoints } from '@countersign/contract'
import { Button, Stack, Text } from '@mantine/core'
import { DownloadIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { listCheckpoints } from '../../api/audit'
import { CodeBlock } from '../../components/code-block'
import { download } from '../../components/download'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Facts, Panel } from '../../components/panel'
import { SidePanel } from '../../components/side-panel'
import { At } from '../../components/time'
import { CompareNote } from './compare-note'

export interface CheckpointsDrawerProps {
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** The newest signed checkpoints: to save elsewhere, and to compare with a saved one. */
export function CheckpointsDrawer({ isOpen, onClose }: CheckpointsDrawerProps) {
  return (
    <SidePanel title="Checkpoints" isOpen={isOpen} onClose={onClose}>
      <Stack gap="md">
        <Newest />
        <CompareNote />
      </Stack>
    </SidePanel>
  )
}

function Newest() {
  const { data, error, refetch } = useQuery({ queryKey: ['audit', 'checkpoints'], queryFn: listCheckpoints, gcTime: 0 })
  if (error !== null) return <ErrorNotice error={error} retry={refetch} />
  if (data === undefined) return <Loading what="the checkpoints" />
  return (
    <>
      <RootLog root={data.root} />
      {data.data.length > 0 && (
        <Panel title="Logs of the server processes">
          <Facts
            facts={data.data.map(({ log, size, created_at }) => [
              log,
              <span key={log}>
                {size} entries at <At at={created_at} />
              </span>,
            ])}
          />
        </Panel>
      )}
    </>
  )
}

function RootLog({ root }: Pick<Checkpoints, 'root'>) {
  if (root === null) return <Text className="quiet">No checkpoint yet. The first entry creates one.</Text>
  const { size, created_at, note } = root
  return (
    <Panel title="Root log">
      <Stack gap="sm">
        <Text size="sm">
          {size} checkpoints at <At at={created_at} />. Save this note where the operator of the server cannot change
          it. If the log is later rewritten, comparing it with the note shows that.
        </Text>
        <CodeBlock code={note} label="Newest note" />
        <Button
          variant="default"
          leftSection={<DownloadIcon size={16} />}
          style={{ alignSelf: 'flex-start' }}
          onClick={() => download(`countersign-checkpoint-${size}.txt`, note)}
        >
          Download the note
        </Button>
      </Stack>
    </Panel>
  )
}
