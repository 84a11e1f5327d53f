import type { Agent } from '@countersign/contract'
import { Button, List, Stack, Text, Textarea } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { PlayIcon, StopIcon } from '@primer/octicons-react'
import { useState } from 'react'
import { resumeAgent, suspendAgent } from '../../api/agents'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { useChangedAgent } from './changed-agent'

/** Suspends an agent, or resumes it: the button, and the question before. */
export function KillSwitch({ agent }: { readonly agent: Agent }) {
  const [isOpen, dialog] = useDisclosure()
  const [reason, setReason] = useState('')
  const changed = useChangedAgent()
  if (agent.suspended !== null)
    return (
      <>
        <Button leftSection={<PlayIcon size={16} />} onClick={dialog.open}>
          Resume
        </Button>
        <ConfirmDialog
          title={`Resume ${agent.id}?`}
          opened={isOpen}
          onClose={dialog.close}
          action="Resume"
          run={async () => changed(await resumeAgent(agent.id))}
        >
          <Text>
            Policies decide for it again, within 2 seconds everywhere. Permits, approvals and reviews from before count
            again, where their time is not over.
          </Text>
        </ConfirmDialog>
      </>
    )
  return (
    <>
      <Button color="red.9" leftSection={<StopIcon size={16} />} onClick={dialog.open}>
        Suspend
      </Button>
      <ConfirmDialog
        title={`Suspend ${agent.id}?`}
        opened={isOpen}
        onClose={dialog.close}
        action="Suspend"
        isDangerous
        run={async () => {
          changed(await suspendAgent(agent.id, reason.trim() || null))
          setReason('')
        }}
      >
        <Stack gap="md">
          <div>
            <Text>Takes effect everywhere within 2 seconds, until somebody resumes the agent.</Text>
            <List mt="xs">
              <List.Item>Each of its requests is denied, whatever the policies say.</List.Item>
              <List.Item>Nobody can approve, claim or redeem what was decided for it before.</List.Item>
              <List.Item>
                What already runs can still be confirmed or rejected, and its reviews can be declined.
              </List.Item>
            </List>
          </div>
          <Textarea
            label="Reason"
            description="Kept with the suspension, and in the audit log."
            maxLength={512}
            autosize
            minRows={2}
            maxRows={6}
            value={reason}
            onChange={(event) => setReason(event.currentTarget.value)}
            data-autofocus
          />
        </Stack>
      </ConfirmDialog>
    </>
  )
}
