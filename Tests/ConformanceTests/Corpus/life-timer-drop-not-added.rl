topic life
title A timer never added, dropped
timer T delay=2000 ctx
drop T
note dropped
--- golden
retain T
release T
note dropped
end
