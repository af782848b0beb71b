topic query
title The signalled flag over a source's life
source0 S
on S: signalled S; signal S; signalled S
signalled S; signal S; signalled S
add S default; signalled S
run default 1 yes
signalled S
run default 1 yes
invalidate S; signalled S
--- golden
signalled S = no
signalled S = yes
signalled S = yes
run default
source0 S mode=default
signalled S = no
signalled S = yes
ran default HANDLED
signalled S = yes
run default
source0 S mode=default
signalled S = no
signalled S = yes
ran default HANDLED
signalled S = no
end
