# A real Debian under qemu, without KVM: see docs/bench.md.
# The first build downloads and installs some 300 packages, and boots once.

# Packages that test with a guest, in tests with Guest in their names: what CI can
# with the tag integration, by hand with guest as well.
GUEST_TESTS := ./bench/guest ./bench/scenarios ./nodeexec/discover ./nodeexec/remove

.PHONY: guest-build guest-test guest

guest-build: ## Build and boot the guest's image, into the user's cache (as root)
	@bench/install.sh guest
	@$(GO) run ./bench/guest/cmd build

guest-test: guest-build
	$(GO) test -tags integration -run Guest -timeout 20m -p 1 $(GUEST_TESTS)

guest: guest-build ## The whole matrix on real guests, by hand: hours; its evidence in .work/guest
	@mkdir -p .work/guest
	$(GO) test -tags integration,guest -run Guest -timeout 6h -p 1 -count 1 -v $(GUEST_TESTS) 2>&1 | \
	  tee .work/guest/$$(date -u +%Y%m%d-%H%M%S).log
