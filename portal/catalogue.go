package portal

// phrase names a sentence of the catalogue.
type phrase string

// wording is a phrase in each language. What fmt fills in stands at the same
// places in all of them.
type wording struct{ en, fr string }

func (w wording) in(lang Lang) string {
	if lang == French {
		return w.fr
	}
	return w.en
}

// catalogue holds whatever people read: the evidence, and the page's words.
var catalogue = map[phrase]wording{
	// evidence
	"service":            {"Service %s/%s is there, of type %s", "le Service %s/%s existe, de type %s"},
	"no-service":         {"there is no Service %s/%s", "il n'y a pas de Service %s/%s"},
	"no-port":            {"Service %s/%s has no port %d", "le Service %s/%s n'a pas de port %d"},
	"exposing":           {"Service %s/%s, of type %s, exposes it: %s", "le Service %s/%s, de type %s, l'expose : %s"},
	"how-stated":         {"the contract names it", "le contrat le nomme"},
	"how-itself":         {"it is the endpoint's own", "c'est celui du contrat"},
	"how-same pods":      {"it selects the same pods", "il vise les mêmes pods"},
	"how-convention":     {"it is called <service>-nodeport", "il s'appelle <service>-nodeport"},
	"type-changed":       {"its type is %s where NodePort was promised", "son type est %s alors que NodePort était promis"},
	"was-node-port":      {"Service %s/%s is there to expose it, and its type is %s", "le Service %s/%s est là pour l'exposer, mais son type est %s"},
	"no-exposing":        {"Service %s/%s is of type %s, and no NodePort Service leads to it", "le Service %s/%s est de type %s, et aucun Service NodePort n'y mène"},
	"rival":              {"Service %s/%s exposes it as well as any other; name one under exposure: in the contract", "le Service %s/%s l'expose autant qu'un autre ; nommez-en un sous exposure: dans le contrat"},
	"port-ambiguous":     {"Service %s/%s has several ports, and none is %d", "le Service %s/%s a plusieurs ports, et aucun n'est %d"},
	"port-leads-nowhere": {"no port of Service %s/%s leads where port %d does", "aucun port du Service %s/%s ne mène où mène le port %d"},
	"no-node-port":       {"Service %s/%s has no nodePort for port %d", "le Service %s/%s n'a pas de nodePort pour le port %d"},
	"node-port":          {"nodePort %d/%s leads to port %d", "le nodePort %d/%s mène au port %d"},
	"ready":              {"%d of %d endpoints behind Service %s/%s are ready", "%d sur %d points d'accès derrière le Service %s/%s sont prêts"},
	"selector-mismatch":  {"Service %s/%s selects no ready pod, and Service %s/%s has %d", "le Service %s/%s ne vise aucun pod prêt, et le Service %s/%s en a %d"},
	"local-empty":        {"Service %s/%s has externalTrafficPolicy Local, and no reachable node holds a ready endpoint", "le Service %s/%s a externalTrafficPolicy Local, et aucun nœud joignable n'a de point d'accès prêt"},
	"no-node":            {"none of %d nodes is Ready and has a usable address", "aucun des %d nœuds n'est Ready avec une adresse utilisable"},
	"node":               {"node %s answers for it, of %d that should", "le nœud %s y répond, parmi %d qui le devraient"},
	"scheme":             {"%s: %s", "%s : %s"},
	"scheme-scheme":      {"the contract's scheme says so", "le champ scheme du contrat le dit"},
	"scheme-protocol":    {"the contract's protocol says so", "le champ protocol du contrat le dit"},
	"scheme-appProtocol": {"the port's appProtocol says so", "l'appProtocol du port le dit"},
	"scheme-port name":   {"the port's name says so", "le nom du port le dit"},
	"scheme-default":     {"nothing says otherwise", "rien ne dit le contraire"},
	"scheme-refused":     {"the contract's scheme is neither http nor https", "le champ scheme du contrat n'est ni http ni https"},
	"external-name":      {"an ExternalName leads out of the cluster, where nothing is read", "un ExternalName mène hors du cluster, où rien n'est lu"},
	"policy-may-block":   {"a NetworkPolicy may block what comes in through the node port: %s", "une NetworkPolicy peut bloquer ce qui entre par le port du nœud : %s"},
	"no-host-port":       {"no pod behind Service %[2]s/%[3]s holds hostPort %[1]d", "aucun pod derrière le Service %[2]s/%[3]s ne tient le hostPort %[1]d"},
	"host-port":          {"%s %s/%s holds hostPort %d", "%s %s/%s tient le hostPort %d"},
	"ready-pods":         {"%d of %d of its pods are Ready", "%d de ses %d pods sont Ready"},
	"other-profile":      {"promised for profile %s; this is profile %s", "promis pour le profil %s ; ici, c'est le profil %s"},
	"was":                {"%s at the last sign of life, %s", "%s au dernier signe de vie, %s"},
	"denied":             {"reading %s is denied; the missing rule: %s", "la lecture de %s est refusée ; la règle qui manque : %s"},
	"not-asked":          {"%s were not asked for", "%s : rien n'a été demandé"},
	"unsynced":           {"%s are not read yet", "%s : pas encore lus"},
	"unsynced-why":       {"%s are not read: %s", "%s : pas lus : %s"},
	"system":             {"part of the cluster itself", "fait partie du cluster lui-même"},
	"undeclared-port":    {"endpoint %s promises another port of this Service", "le point d'accès %s promet un autre port de ce Service"},
	"extra":              {"%s %s/%s is reachable from outside by %s, and nobody promised it", "%s %s/%s est joignable du dehors par %s, et personne ne l'a promis"},
	"kind-nodeport":      {"node ports", "des ports de nœud"},
	"kind-loadbalancer":  {"a load balancer", "un répartiteur de charge"},
	"kind-externalip":    {"an external address", "une adresse externe"},
	"kind-hostport":      {"ports of its node", "des ports de son nœud"},
	"kind-hostnetwork":   {"the network of its node", "le réseau de son nœud"},
	"port-external":      {"%s port %d/%s", "%s port %d/%s"},
	"port-host":          {"hostPort %d/%s", "hostPort %d/%s"},
	"port-host-ip":       {"hostPort %d/%s on %s", "hostPort %d/%s sur %s"},
	"port-unassigned":    {"port %d/%s, with no nodePort yet", "port %d/%s, encore sans nodePort"},
}
