/** The `links` objects beside lists and records; the singular of their paths is the service's own. */
export const APPLICATION_LINKS = {
  'application.servers': '/v2/servers?ids={server_ids}',
  'application.server': '/v2/servers/{server_id}',
  'application.application_hosts': '/v2/application/{application_id}/hosts?ids={host_ids}',
  'application.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application.alert_policy': '/v2/alert_policies/{alert_policy_id}',
};

export const HOST_LINKS = {
  'application_host.application': '/v2/applications/{application_id}',
  'application_host.application_instances': '/v2/application/{application_id}/instances?ids={instance_ids}',
  'application_host.application_instance': '/v2/application/{application_id}/instances/{instance_id}',
  'application_host.server': '/v2/servers/{server_id}',
};

export const INSTANCE_LINKS = {
  'application_instance.application': '/v2/applications/{application_id}',
  'application_instance.application_host': '/v2/application/{application_id}/hosts/{host_id}',
  'application_instance.server': '/v2/servers/{server_id}',
};

export const KEY_TRANSACTION_LINKS = { 'key_transaction.application': '/v2/applications/{application_id}' };
