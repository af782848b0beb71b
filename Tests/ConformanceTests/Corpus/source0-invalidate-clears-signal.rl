topic source0
title Invalidation clears the signal; signalling an invalid source does nothing
source0 S
add S default; signal S; signalled S
invalidate S; signalled S
signal S; signalled S; valid S
--- golden
signalled S = yes
signalled S = no
signalled S = no
valid S = no
end
